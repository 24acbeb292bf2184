import com.helger.diagnostics.error.IError;
import com.helger.diver.api.coord.DVRCoordinate;
import com.helger.io.resource.FileSystemResource;
import com.helger.phive.api.execute.ValidationExecutionManager;
import com.helger.phive.api.executorset.ValidationExecutorSetRegistry;
import com.helger.phive.api.validity.IValidityDeterminator;
import com.helger.phive.en16931.EN16931Validation;
import com.helger.phive.peppol.PeppolValidation2026_05;
import com.helger.phive.xml.source.IValidationSourceXML;
import com.helger.phive.xml.source.ValidationSourceXML;
import com.helger.phive.xrechnung.XRechnungValidation;
import java.io.File;
import java.nio.file.Files;
import java.util.Locale;
import java.util.Map;
import org.verapdf.gf.foundry.VeraGreenfieldFoundryProvider;
import org.verapdf.pdfa.Foundries;
import org.verapdf.pdfa.flavours.PDFAFlavour;
import org.verapdf.pdfa.results.TestAssertion;

/**
 * Prints what official rules find in files: a line for each finding, with the file, the rule and the message.
 *
 * <p>XML files are held to the schemas and the rules of EN 16931, and to those of XRechnung 3.0 or Peppol BIS 3.0 if
 * they name one; PDF files to PDF/A-3a. The last line is "done".
 */
final class OfficialRules {
    private static final Map<String, DVRCoordinate> RULES = Map.of(
            "Invoice", EN16931Validation.VID_UBL_INVOICE_1316,
            "CreditNote", EN16931Validation.VID_UBL_CREDIT_NOTE_1316,
            "CrossIndustryInvoice", EN16931Validation.VID_CII_1316);

    /** The rules of a profile, by a part of the identifier that a file has, and by the root. */
    private static final Map<String, Map<String, DVRCoordinate>> PROFILES = Map.of(
            "xrechnung_3.0", Map.of(
                    "Invoice", XRechnungValidation.VID_XRECHNUNG_UBL_INVOICE_302,
                    "CreditNote", XRechnungValidation.VID_XRECHNUNG_UBL_CREDITNOTE_302),
            "poacc:billing:3.0", Map.of(
                    "Invoice", PeppolValidation2026_05.VID_OPENPEPPOL_INVOICE_UBL_V3,
                    "CreditNote", PeppolValidation2026_05.VID_OPENPEPPOL_CREDIT_NOTE_UBL_V3));

    private final ValidationExecutorSetRegistry<IValidationSourceXML> registry = new ValidationExecutorSetRegistry<>();

    private OfficialRules() {
        EN16931Validation.initEN16931(registry);
        XRechnungValidation.initXRechnung(registry);
        PeppolValidation2026_05.init(registry);
        VeraGreenfieldFoundryProvider.initialise();
    }

    public static void main(String[] names) throws Exception {
        OfficialRules rules = new OfficialRules();
        for (String name : names) {
            File file = new File(name);
            if (name.endsWith(".pdf")) {
                rules.checkPdf(file);
            } else {
                rules.checkXml(file);
            }
        }
        System.out.println("done");
    }

    private void checkXml(File file) throws Exception {
        IValidationSourceXML source = ValidationSourceXML.create(new FileSystemResource(file));
        if (source.getNode() == null) {
            print(file, "XML", "is not well-formed");
            return;
        }
        String root = source.getNode().getOwnerDocument() == null
                ? ((org.w3c.dom.Document) source.getNode()).getDocumentElement().getLocalName()
                : source.getNode().getLocalName();
        check(file, source, RULES.get(root));
        String content = Files.readString(file.toPath());
        for (var profile : PROFILES.entrySet()) {
            if (content.contains(profile.getKey() + "</")) {
                check(file, source, profile.getValue().get(root));
            }
        }
    }

    private void check(File file, IValidationSourceXML source, DVRCoordinate rules) {
        var found = ValidationExecutionManager.executeValidation(
                IValidityDeterminator.createDefault(), registry.getOfID(rules), source, Locale.ROOT);
        for (IError error : found.getAllFailures()) {
            print(file, error.getErrorID(), error.getErrorText(Locale.ROOT) + " " + error.getErrorFieldName());
        }
    }

    private void checkPdf(File file) throws Exception {
        try (var parser = Foundries.defaultInstance().createParser(file, PDFAFlavour.PDFA_3_A);
                var validator = Foundries.defaultInstance().createValidator(PDFAFlavour.PDFA_3_A, false)) {
            for (TestAssertion one : validator.validate(parser).getTestAssertions()) {
                if (one.getStatus() != TestAssertion.Status.PASSED) {
                    print(file, one.getRuleId().getClause(), one.getMessage() + " " + one.getErrorMessage());
                }
            }
        }
    }

    private static void print(File file, String rule, String message) {
        System.out.println(file.getName() + "\t" + rule + "\t" + message.replaceAll("\\s+", " "));
    }
}
